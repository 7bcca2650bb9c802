//===- PlanOperationTest.cpp - ops of sched say what plan.proto says ------===//

#include "codegen/plan/PlanParts.h"
#include "codegen/plan/PlanTypes.h"
#include "passes/zero/Passes.h"

#include "google/protobuf/descriptor.h"
#include <gtest/gtest.h>

namespace mlir::zg {
namespace {

namespace plan = zerograph::plan;

struct Names : ::testing::Test {
  std::vector<StringAttr> of(std::initializer_list<const char *> names) {
    std::vector<StringAttr> attributes;
    for (const char *name : names) {
      attributes.push_back(StringAttr::get(&context, name));
    }
    return attributes;
  }
  MLIRContext context;
};

TEST_F(Names, AttributesAndFieldsAgree) {
  const auto &gather = *plan::AllGather::descriptor();
  EXPECT_EQ(differenceTo(gather, of({"unit", "element_type", "stream", "label",
                                     "group", "reason", "sequence"})),
            "");
  EXPECT_EQ(differenceTo(gather, of({"unit", "element_type", "stay"})),
            "attribute 'stay' is no field of zerograph.plan.AllGather");
  EXPECT_EQ(differenceTo(gather, of({"unit"})),
            "no attribute is field 'element_type' of zerograph.plan.AllGather");
}

// Every op that is a step has a message of its name, field by field; except
// convolutions, which have a conversion of their own.
TEST_F(Names, EveryStepIsAMessage) {
  context.loadDialect<sched::SchedDialect>();
  int steps = 0;
  for (RegisteredOperationName op : context.getRegisteredOperations()) {
    if (op.getDialectNamespace() != "sched" ||
        !op.hasInterface<sched::Step>()) {
      continue;
    }
    ++steps;
    const auto *field =
        plan::Step::descriptor()->FindFieldByName(op.stripDialect().str());
    ASSERT_TRUE(field) << op.getStringRef().str();
    if (op.stripDialect() != "convolution") {
      EXPECT_EQ(differenceTo(*field->message_type(), op.getAttributeNames()),
                "");
    }
  }
  EXPECT_EQ(steps, plan::Step::descriptor()->oneof_decl(0)->field_count());
}

template <typename Enum, typename Case>
void expectEveryCase(StringRef (*nameOf)(Case), unsigned last) {
  for (unsigned i = 0; i <= last; ++i) {
    StringRef name = nameOf(Case(i));
    const auto *found =
        google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(
            planCase<Enum>(name));
    EXPECT_EQ(found->name(), name.upper());
  }
}

TEST(PlanCases, EnumsOfTheIrAreThePlans) {
  expectEveryCase<plan::SliceClass>(sched::stringifySliceClass,
                                    sched::getMaxEnumValForSliceClass());
  expectEveryCase<plan::Mode>(sched::stringifyMode,
                              sched::getMaxEnumValForMode());
  expectEveryCase<plan::Space>(zero::stringifySpace,
                               zero::getMaxEnumValForSpace());
  expectEveryCase<plan::Init>(nn::stringifyInitKind,
                              nn::getMaxEnumValForInitKind());
  for (StringRef name :
       {zero::kMicroProgram, zero::kUpdateProgram, zero::kStepProgram,
        zero::kEvaluateProgram, zero::kForwardProgram}) {
    EXPECT_NE(planCase<plan::ProgramKind>(name), plan::PROGRAM_INVALID);
  }
}

} // namespace
} // namespace mlir::zg
